package modelrepo

import (
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/modelrepo/internal/webhook"
	"github.com/iotenablers/enablers/storage"
)

// contents is the content of the versions: blobs, and a document for each digest that
// says which blob has its bytes.
type contents struct {
	tree      *tree
	docs      storage.Documents
	blobs     storage.Blobs
	hooks     *webhook.Hooks
	usage     *usage
	collector *collector
	copier    *transfer.Copier
	stats     *counters
	maxBytes  int64 // of one content; 0 for no limit
	grace     time.Duration
}
