"""What can be asked, and how it is spelled: addresses, setup files, areas, filters."""
