// Package storagetest is the conformance suite of the storage contracts. Every
// driver and every wrapper passes it:
//
//	func TestDocuments(t *testing.T) {
//		storagetest.Documents(t, func(t *testing.T) storage.Documents {
//			return mydriver.New(t.TempDir())
//		})
//	}
//
// A failure has the violated rule in words, and what was observed. The suite
// itself is tested with faulty stores: each rule detects at least one of them.
package storagetest
