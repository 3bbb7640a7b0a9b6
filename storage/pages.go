package storage

import (
	"context"
	"iter"
)

// All yields every document whose key starts with prefix, in ascending byte
// order of the keys, one page of [Documents].List after the other. The first
// error ends it. For documents that are written meanwhile, the rules of List
// hold, and the loop's body may call any method of the store.
func All(ctx context.Context, docs Documents, prefix string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		after := ""
		for {
			page, err := docs.List(ctx, prefix, after, DefaultPage)
			if err != nil {
				yield(Document{}, err)
				return
			}
			for _, doc := range page {
				if !yield(doc, nil) {
					return
				}
			}
			if len(page) < DefaultPage {
				return
			}
			after = page[len(page)-1].Key
		}
	}
}
