// Command kongclients tries a gateway's Admin API with two clients that others have
// written for Kong: go-kong, and the reconciler that decK is made of. It is a module
// of its own, so that what they depend on is not a dependency of the project.
//
//	kongclients life ADDRESS [TOKEN]
//	kongclients sync ADDRESS [TOKEN]
//
// The gateway is empty before, and after. An answer that the client does not expect
// is an error, and exit status 1.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/kong/go-kong/kong"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "kongclients: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: kongclients life|sync ADDRESS [TOKEN]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	header := http.Header{}
	if len(args) > 2 {
		header.Set("Kong-Admin-Token", args[2])
	}
	client, err := kong.NewClient(&args[1], kong.HTTPClientWithHeaders(http.DefaultClient, header))
	if err != nil {
		return err
	}
	switch args[0] {
	case "life":
		return life(ctx, client)
	case "sync":
		return sync(ctx, client)
	}
	return fmt.Errorf("%q is neither life nor sync", args[0])
}
