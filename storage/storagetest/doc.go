// Package storagetest is the conformance suite of the storage contracts. Every
// driver and every wrapper passes it:
//
//	func TestDocuments(t *testing.T) {
//		storagetest.Documents(t, func(t *testing.T) storage.Documents {
//			return mydriver.New(t.TempDir())
//		})
//	}
//
// A failure names the rule that was broken in words, and then what was seen.
// The suite itself is tested with stores that are wrong on purpose: each rule
// is known to catch at least one of them.
package storagetest
