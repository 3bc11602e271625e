# Trap: a program with a main function
# Expected: pass
# Check: arguments
import argparse
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('n', type=int)
    print(parser.parse_args().n + 1)
if __name__ == '__main__':
    main()
