"""The language of a prompt is detected by its script and its function words."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_promptse.variants._document import read_document
from pytest_promptse.variants._language import main_language, prompt_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Write a function that returns the sum of the numbers.", "en"),
        ("Schreibe eine Funktion, die die Summe der Zahlen zurückgibt.", "de"),
        ("Skriv en funktion som tar en lista med tal och returnerar summan.", "sv"),
        ("Skriv en funktion der returnerer summen af alle tal, men ikke de negative.", "da"),
        ("Skriv en funksjon som returnerer summen av alle tall, men ikke de negative.", "nb"),
        ("Kirjoita funktio, joka palauttaa listan kaikki positiiviset luvut.", "fi"),
        ("Napiš funkci, která vrátí seznam čísel.", "cs"),
        ("Écris une fonction qui renvoie la liste des nombres pairs.", "fr"),
        ("Schrijf een functie die het grootste getal van een lijst geeft.", "nl"),
        ("编写一个函数并返回列表的和。", "zh"),
        ("Return n-th Fibonacci number.", "en"),
        ("fizzbuzz", "en"),
    ],
)
def test_a_sentence_is_told_by_its_function_words(text, language):
    assert main_language([text]) == language


MIXED = yaml.safe_load(Path(__file__).with_name("mixed.yaml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("prompt", "language"), [(prompt, code) for code, group in MIXED.items() for prompt in group]
)
def test_code_names_and_quoted_text_have_no_part_in_the_language_of_a_prompt(prompt, language):
    assert prompt_language(read_document(prompt)) == language
