package disk

import (
	"bytes"
	"iter"

	"go.etcd.io/bbolt"
)

// records yields the keys of a bucket that start with prefix and are greater
// than after, in ascending byte order, with their values. Both slices are
// valid during the transaction only.
func records(bucket *bbolt.Bucket, prefix, after string) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		cursor := bucket.Cursor()
		key, value := cursor.Seek([]byte(max(prefix, after)))
		if after != "" && string(key) == after {
			key, value = cursor.Next()
		}
		for ; key != nil && bytes.HasPrefix(key, []byte(prefix)); key, value = cursor.Next() {
			if !yield(key, value) {
				return
			}
		}
	}
}
