"""Reports: what a review leaves for people to look at, who may, and the pages that show it."""
