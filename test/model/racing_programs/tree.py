"""A program as a tree of pieces of text, so that it can be made smaller without knowing what the text means.

A piece is text with other pieces in it. Its kind says what may be done to it when a program is shrunk:
  statement  may be left out, or give way to the statements in it; so may a function, a thread, a declaration
  value      may give way to a constant, or to a value of the same type in it
  glue       nothing; it holds others together

Leaving out too much (a declaration that is used) gives a program that does not compile: whoever shrinks tries and sees.
"""


class Piece:
    def __init__(self, kind, *parts, cost=1):
        self.kind, self.parts = kind, parts
        self.cost = cost + sum(part.cost for part in parts if isinstance(part, Piece))  # bound of the statements it carries out
        self.instead = None  # while shrinking: the text or piece that has taken its place

    def text(self):
        if self.instead is not None:
            return self.instead if isinstance(self.instead, str) else self.instead.text()
        return "".join(part if isinstance(part, str) else part.text() for part in self.parts)

    def children(self):
        """The pieces directly in it, as the text is now."""
        if self.instead is not None:
            return [self.instead] if isinstance(self.instead, Piece) else []
        return [part for part in self.parts if isinstance(part, Piece)]

    def walk(self):
        """All pieces of the text as it is now, outer ones first."""
        yield self
        for child in self.children():
            yield from child.walk()


def statement(*parts, cost=1):
    return Piece("statement", *parts, "\n", cost=cost)


def value(*parts):
    return Piece("value", *parts, cost=0)


def block(statements):
    return Piece("glue", *statements, cost=0)


def repeated(rounds, body):
    """What stands in a loop, as dear as it is: a piece that shows `body`."""
    piece = Piece("glue", body, cost=0)
    piece.cost = rounds * (body.cost + 1)
    return piece
