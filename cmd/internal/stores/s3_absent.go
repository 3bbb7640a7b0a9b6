//go:build no_s3

package stores

func s3Driver() driver { return absent("no_s3", s3Form, "s3") }
