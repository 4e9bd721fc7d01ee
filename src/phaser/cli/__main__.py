"""`python -m phaser.cli`, where the installed command is not on the path."""

from phaser.cli.main import main

if __name__ == "__main__":
    main()
