package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/iotenablers/enablers/storage"
)

const (
	// chunkSize is GridFS's own default, 255 KiB.
	chunkSize = 255 << 10
	// chunksAtOnce is how many chunks one command has, about 4 MiB. A reply of
	// that size fits into one batch, so no cursor stays open on the server, and
	// into the limit of FerretDB.
	chunksAtOnce = 16
)

// chunk is a piece of a file, as GridFS stores it.
type chunk struct {
	ID   bson.ObjectID `bson:"_id"`
	File bson.ObjectID `bson:"files_id"`
	N    int32         `bson:"n"`
	Data []byte        `bson:"data"`
}

// file describes a file, as GridFS stores it.
type file struct {
	ID        bson.ObjectID `bson:"_id"`
	Length    int64         `bson:"length"`
	ChunkSize int32         `bson:"chunkSize"`
	Uploaded  time.Time     `bson:"uploadDate"`
	Name      string        `bson:"filename"`
	Metadata  fileMetadata  `bson:"metadata"`
}

type fileMetadata struct {
	MD5    string `bson:"md5"`
	SHA256 string `bson:"sha256"`
}

// contents keeps the bytes of blobs in the collections of GridFS, by the
// identifiers of the files. The records have which files are in use.
type contents struct {
	files, chunks, records *driver.Collection
	prepared               chan bool // holds one token: whether the indexes are there
}

func newContents(database *driver.Database) *contents {
	c := &contents{
		files:    database.Collection(filesCollection),
		chunks:   database.Collection(chunksCollection),
		records:  database.Collection(blobsCollection),
		prepared: make(chan bool, 1),
	}
	c.prepared <- false
	return c
}

// prepare creates the indexes when the first file is written.
func (c *contents) prepare(ctx context.Context) (err error) {
	var done bool
	select {
	case done = <-c.prepared:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { c.prepared <- done }()
	if done {
		return nil
	}
	ascending := func(fields ...string) bson.D {
		var keys bson.D
		for _, field := range fields {
			keys = append(keys, bson.E{Key: field, Value: 1})
		}
		return keys
	}
	for _, index := range []struct {
		collection *driver.Collection
		model      driver.IndexModel
	}{
		{c.chunks, driver.IndexModel{Keys: ascending("files_id", "n"), Options: options.Index().SetUnique(true)}},
		{c.files, driver.IndexModel{Keys: ascending("filename", "uploadDate")}},
		{c.records, driver.IndexModel{Keys: ascending("due")}},
	} {
		if _, err := index.collection.Indexes().CreateOne(ctx, index.model); err != nil {
			return fmt.Errorf("create an index of %s: %w", index.collection.Name(), err)
		}
	}
	done = true
	return nil
}

// add stores the next chunks of a file, the first of them being number n.
func (c *contents) add(ctx context.Context, id bson.ObjectID, n int32, data []byte) error {
	var chunks []chunk
	for ; len(data) > 0; n++ {
		size := min(len(data), chunkSize)
		chunks = append(chunks, chunk{ID: bson.NewObjectID(), File: id, N: n, Data: data[:size]})
		data = data[size:]
	}
	_, err := c.chunks.InsertMany(ctx, chunks)
	return err
}

// complete stores the description of a file whose chunks are all there, for
// other readers of GridFS.
func (c *contents) complete(ctx context.Context, f file) error {
	_, err := c.files.InsertOne(ctx, f)
	return err
}

// read returns the bytes of up to count chunks of a file, from number n.
func (c *contents) read(ctx context.Context, id bson.ObjectID, n int32, count int) ([]byte, error) {
	filter := bson.D{
		{Key: "files_id", Value: id},
		{Key: "n", Value: bson.D{{Key: "$gte", Value: n}, {Key: "$lt", Value: n + int32(count)}}},
	}
	opts := options.Find().SetSort(bson.D{{Key: "n", Value: 1}}).SetBatchSize(chunksAtOnce).SetLimit(int64(count))
	cursor, err := c.chunks.Find(ctx, filter, opts)
	if err != nil {
		return nil, err
	}
	var found []chunk
	if err := cursor.All(ctx, &found); err != nil { // closes the cursor
		return nil, err
	}
	var data []byte
	for i, next := range found {
		if next.N != n+int32(i) || i < len(found)-1 && len(next.Data) != chunkSize {
			return nil, fmt.Errorf("%w: chunk %d is missing or incomplete", storage.ErrDamaged, n+int32(i))
		}
		data = append(data, next.Data...)
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: its bytes were let go of", storage.ErrNotFound)
	}
	return data, nil
}

// remove deletes all parts of a file: the description first, so that no reader
// of GridFS finds a file without its chunks.
func (c *contents) remove(ctx context.Context, id bson.ObjectID) error {
	_, filesErr := c.files.DeleteOne(ctx, bson.D{{Key: "_id", Value: id}})
	_, chunksErr := c.chunks.DeleteMany(ctx, bson.D{{Key: "files_id", Value: id}})
	return errors.Join(filesErr, chunksErr)
}
