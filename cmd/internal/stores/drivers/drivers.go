// Package drivers has the drivers of stores that take a client library: databases of MongoDB and
// buckets of S3. A server links them only if it has a flag that can name such a store. The build tags
// no_mongodb and no_s3 leave them out.
package drivers

import "github.com/iotenablers/enablers/cmd/internal/stores"

// The forms of stores that a program may be built without.
const (
	mongodbForm = "mongodb://HOST[/DATABASE]"
	s3Form      = "s3://HOST/BUCKET[/PREFIX]"
)

// All returns all drivers, in the order of the help texts. To add a kind, add its driver here.
func All() []stores.Driver {
	return []stores.Driver{
		mongodbDriver(),
		s3Driver(),
	}
}
