package storage

import "context"

// onlySHA256 is the key of the value of [OnlySHA256].
type onlySHA256 struct{}

// OnlySHA256 returns a context for [Blobs].Create of a blob whose MD5 is of no use. A
// driver may then leave [BlobInfo].MD5 of the blob empty, which saves much of the time
// that a large blob takes.
func OnlySHA256(ctx context.Context) context.Context {
	return context.WithValue(ctx, onlySHA256{}, true)
}

// IsOnlySHA256 reports whether a context is one of [OnlySHA256], for drivers.
func IsOnlySHA256(ctx context.Context) bool {
	only, _ := ctx.Value(onlySHA256{}).(bool)
	return only
}
