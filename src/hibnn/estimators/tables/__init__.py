"""Tables of one's own: files in, numbers out, in bounded memory."""
