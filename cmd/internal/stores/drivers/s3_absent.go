//go:build no_s3

package drivers

import "github.com/iotenablers/enablers/cmd/internal/stores"

func s3Driver() stores.Driver {
	d := absent("no_s3", s3Form, "s3")
	d.BlobsOnly = true
	return d
}
