"""What a visitor of the page can take home: files made when they are asked for, bounded in number, time and size."""
