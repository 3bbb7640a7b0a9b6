//go:build no_s3

package stores

func s3Driver() driver {
	d := absent("no_s3", s3Form, "s3")
	d.blobsOnly = true
	return d
}
