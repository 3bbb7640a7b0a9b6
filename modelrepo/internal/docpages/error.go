package docpages

import "fmt"

// Error is why files cannot become documentation.
type Error struct {
	// TooLarge is set when the files or their pages exceed a bound.
	TooLarge bool
	// Text is a sentence for the author of the files.
	Text string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

func invalid(format string, args ...any) error { return &Error{Text: fmt.Sprintf(format, args...)} }

func tooLarge(format string, args ...any) error {
	return &Error{TooLarge: true, Text: fmt.Sprintf(format, args...)}
}

func tooManyFiles() error { return tooLarge("Documentation can have at most %d files.", maxFiles) }

// TooLarge returns the error for source files that exceed [MaxSource].
func TooLarge() error {
	return tooLarge("The files of documentation can have at most %d MiB together.", MaxSource>>20)
}
