package slug

import "testing"

func TestSlugify(t *testing.T) {
	for title, slug := range map[string]string{"": "", "x!": "x", "Hello,  World!": "hello-world"} {
		t.Run(title, func(t *testing.T) {
			if got := Slugify(title, Options{Separator: "-"}); got != slug {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestTwice(t *testing.T) {
	if got := Slugify(Slugify("A b", Options{"-"}), Options{"-"}); got != "a-b" {
		t.Errorf("got %q", got)
	}
}
