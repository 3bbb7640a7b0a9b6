//go:build no_mongodb || no_s3

package drivers

import (
	"context"
	"fmt"

	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/storage"
)

// absent is the driver of a kind of store that a build tag has left out.
func absent(tag, form string, schemes ...string) stores.Driver {
	return stores.Driver{Schemes: schemes, Form: form,
		Open: func(context.Context, *stores.Stores, string) (storage.Documents, storage.Blobs, error) {
			return nil, nil, errAbsent(tag)
		}}
}

func errAbsent(tag string) error {
	return cli.Usage(fmt.Errorf("this program was built without the driver of such a store, with the tag %s; "+
		"use one that was built without the tag", tag))
}
