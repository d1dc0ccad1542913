"""The bot's pages for people: plain HTML made on the server, which a little script makes more comfortable."""
