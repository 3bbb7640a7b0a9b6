//go:build linux

// Command plane runs a plane of the kernel in the virtual machine, as the test on
// the host says. A line of its standard input is a JSON object: "apply" and a
// state, "switch" and the name of a link, or "close" and anything. It answers each by a line
// with the error, or an empty one, and the status.
//
// As "plane available" it prints what keeps it from a plane, and ends.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/kernel"
)

// order is a line of the standard input.
type order struct {
	Apply  *multilink.State `json:"apply"`
	Switch *string          `json:"switch"`
	Close  bool             `json:"close"`
}

// answer is a line of the standard output.
type answer struct {
	Error  string           `json:"error"`
	Status multilink.Status `json:"status"`
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "available" {
		fmt.Println(kernel.Available())
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	plane, err := kernel.New(kernel.Config{Name: "test", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer plane.Close()
	go func() {
		_ = plane.Events(context.Background(), func(e multilink.Event) {
			fmt.Fprintf(os.Stderr, "event %s peer=%s link=%s from=%s state=%s: %s\n", e.Type, e.Peer, e.Link, e.From, e.State, e.Reason)
		})
	}()
	orders, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return err
		}
		if err := answers.Encode(answer{Error: do(plane, o), Status: plane.Status()}); err != nil {
			return err
		}
		if o.Close {
			return nil
		}
	}
}

// do carries an order out and says what went wrong.
func do(plane *kernel.Plane, o order) string {
	var err error
	switch {
	case o.Apply != nil:
		err = plane.Apply(context.Background(), *o.Apply)
	case o.Switch != nil:
		err = plane.Switch(*o.Switch, time.Hour)
	case o.Close:
		err = plane.Close()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
