package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/wasm"
)

// load is a repository.Loader: it creates a strategy from an uploaded module. A module
// that is not valid is an error that no repetition mends: [flcollect.ErrNoStrategy].
func load(ctx context.Context, name string, file []byte, conf strategy.Conf) (strategy.Strategy, error) {
	// Memory and fuel have their default bounds. A module in Go has a megabyte or two,
	// whose compilation takes a second here, and long on a small machine.
	module, err := wasm.Compile(ctx, file, &wasm.Options{Time: 5 * time.Minute})
	if err != nil {
		return nil, refused(err)
	}
	made, err := module.Strategy(ctx, name, conf)
	if err != nil {
		return nil, refused(errors.Join(err, module.Close()))
	}
	return made, nil
}

func refused(err error) error {
	if errors.Is(err, wasm.ErrModule) || errors.Is(err, wasm.ErrFailed) {
		return fmt.Errorf("%w: %w", flcollect.ErrNoStrategy, err)
	}
	return err
}

// module is the import path of this project.
const module = "github.com/iotenablers/enablers/"

// builtFromGo builds the module in the folder momentum with the go command.
func builtFromGo(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "momentum")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "momentum.wasm")
	build := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-o", file,
		module+"examples/strategies/momentum")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the module: %w: %s", err, output)
	}
	return os.ReadFile(file)
}

// builtFromC is the module that clang compiled from momentum.c, which is beside it.
func builtFromC(ctx context.Context) ([]byte, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", module+"flcollect/strategy/wasm").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "c", "momentum.wasm"))
}

// upload gives a repository a strategy: first its name, then its file.
func upload(ctx context.Context, repository, name string, file []byte) error {
	record, err := json.Marshal(map[string]string{"strategy_name": name, "strategy_description": "server momentum"})
	if err != nil {
		return err
	}
	if err := send(ctx, http.MethodPost, repository+"/strategy", "application/json", bytes.NewReader(record)); err != nil {
		return err
	}
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	part, err := parts.CreateFormFile("file", name+".wasm")
	if err != nil {
		return err
	}
	if _, err := part.Write(file); err != nil {
		return err
	}
	if err := parts.Close(); err != nil {
		return err
	}
	return send(ctx, http.MethodPut, repository+"/strategy/"+url.PathEscape(name), parts.FormDataContentType(), &form)
}

func send(ctx context.Context, method, address, kind string, body io.Reader) error {
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", kind)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return fmt.Errorf("%s %s: %s: %s", method, address, answer.Status, text)
	}
	return nil
}
