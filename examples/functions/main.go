// Command functions maps the readings of a weather station with functions of its own: one in Go as part of
// the program, and those of a WebAssembly module, which runs in a sandbox. The go command builds the module
// from the folder text.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/wasm"
)

//go:embed mapping.ttl
var mapping []byte

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	binary, err := built(ctx)
	if err != nil {
		return err
	}
	// Memory, fuel and the size of results have their default bounds. The machine may be small.
	module, err := wasm.Compile(ctx, binary, &wasm.Options{Time: time.Minute, CompileTime: 5 * time.Minute})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, module.Close()) }()
	station := rml.Function{
		IRI:        "http://example.com/functions#station",
		Parameters: []rml.Parameter{{IRIs: []string{"http://example.com/functions#number"}}},
		Apply: func(c rml.Call) ([]string, error) {
			name, isKnown := map[string]string{"7": "Newark", "8": "Kennedy"}[c.Arg(0)]
			if !isKnown {
				return nil, nil // no term
			}
			return []string{name}, nil
		},
	}
	loaded, err := rml.Load(mapping, nil)
	if err != nil {
		return err
	}
	plan, err := rml.Compile(loaded, &rml.Options{Functions: append(module.Functions(), station)})
	if err != nil {
		return err
	}
	mapper := plan.NewMapper()
	for _, message := range []string{`{"station":7,"temp":"3902"}`, `{"station":9,"temp":"-150"}`, `{"station":8,"temp":"warm"}`} {
		out, err := mapper.Append(nil, []byte(message))
		var failed *rml.MessageError
		if errors.As(err, &failed) {
			fmt.Println("refused:", failed.Err)
			continue
		}
		fmt.Print(string(out))
	}
	return nil
}

// built builds the module with the go command.
func built(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "functions")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "text.wasm")
	build := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-o", file,
		"github.com/iotenablers/enablers/examples/functions/text")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the module: %w: %s", err, output)
	}
	return os.ReadFile(file)
}
