package record

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// Limits bound what a decoder accepts. The zero value has the defaults.
type Limits struct {
	// Bytes bounds the content of a message: the data of its arrays, the names and the values, in
	// bytes. Data that occurs more than once counts as often. Zero means [flower.DefaultMaxMessage],
	// 512 MiB.
	Bytes int64
	// Entries bounds the records, arrays, chunks of arrays and values of a message, all together. Zero
	// means 65,536.
	Entries int
}

const defaultEntries = 1 << 16

// budget is what is left of limits.
type budget struct {
	limits  Limits
	bytes   int64
	entries int
}

func (l Limits) budget() *budget {
	if l.Bytes == 0 {
		l.Bytes = flower.DefaultMaxMessage
	}
	if l.Entries == 0 {
		l.Entries = defaultEntries
	}
	return &budget{l, l.Bytes, l.Entries}
}

// take takes the bytes of a part from the budget.
func (b *budget) take(n int) error {
	if b.bytes -= int64(n); b.bytes < 0 {
		return fmt.Errorf("%w: more than %d bytes", ErrLimit, b.limits.Bytes)
	}
	return nil
}

// count takes n entries from the budget.
func (b *budget) count(n int) error {
	if b.entries -= n; b.entries < 0 {
		return fmt.Errorf("%w: more than %d records, arrays, chunks and values", ErrLimit, b.limits.Entries)
	}
	return nil
}
