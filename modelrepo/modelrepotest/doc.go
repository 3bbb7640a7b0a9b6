// Package modelrepotest is the suite of the repository's REST interface. It checks
// every endpoint, with its success and its errors, over HTTP, and runs over any pair of
// stores:
//
//	func TestContract(t *testing.T) {
//		modelrepotest.Run(t, func(t *testing.T) (storage.Documents, storage.Blobs) {
//			store, err := mydriver.New(t.TempDir())
//			...
//			return store.Documents(), store.Blobs()
//		})
//	}
//
// [Races] checks what must hold under concurrency, with several repositories over one
// pair of stores.
package modelrepotest
