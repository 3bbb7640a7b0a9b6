package cli_test

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/internal/cli"
)

func ExampleStatus() {
	err := fmt.Errorf("thing: %w", cli.Usage(errors.New("there is no flag -lisen")))
	fmt.Println(err, cli.Status(err))
	// Output: thing: there is no flag -lisen 2
}
