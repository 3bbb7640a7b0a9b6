// Command apiops converts OpenAPI files with Kong's own converter, for tests that
// compare. It reads lines of JSON, {"definition": "…"} with the file in base64,
// and writes a line for each: {"config": {…}} in the declarative format, or
// {"error": "…"}. It is a module of its own, so that what the converter depends on
// is not a dependency of the project.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/kong/go-apiops/openapi2kong"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "apiops: %v\n", err)
		os.Exit(1)
	}
}

// question is a file to convert.
type question struct {
	Definition []byte `json:"definition"`
	// OIDC has security requirements become plugins.
	OIDC bool `json:"oidc"`
}

// answer is what became of it.
type answer struct {
	Config map[string]any `json:"config,omitempty"`
	Error  string         `json:"error,omitempty"`
}

func run(in io.Reader, out io.Writer) error {
	questions, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var q question
		if err := questions.Decode(&q); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		if err := answers.Encode(convert(q)); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
}

func convert(q question) answer {
	config, err := openapi2kong.Convert(q.Definition, openapi2kong.O2kOptions{SkipID: true, OIDC: q.OIDC})
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Config: config}
}
