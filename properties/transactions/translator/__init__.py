"""This package translates events to steps of the models where the two differ in grain: of driven runs (`guessing`,
`driven`, `wire`), and of histories (`one_id`, `conforming`); `emitted` is the way back."""
