// Package modelrepotest is the suite of the repository's REST interface. It
// walks the table of its endpoints, each with its success and each of its
// errors, over HTTP, and can be run over any pair of stores:
//
//	func TestContract(t *testing.T) {
//		modelrepotest.Run(t, func(t *testing.T) (storage.Documents, storage.Blobs) {
//			store, err := mydriver.New(t.TempDir())
//			...
//			return store.Documents(), store.Blobs()
//		})
//	}
//
// [Races] tries what must hold when many do things at one time, with several
// repositories over one pair of stores.
package modelrepotest
