package oidc

import (
	"context"
	"sync"
)

// flights lets one caller at a time introspect a token.
type flights struct {
	mu    sync.Mutex
	under map[digest]chan struct{} // closed when the one under way has ended
}

// start waits until no other caller introspects the token. The caller calls land when it is
// done. The error is the context's.
func (f *flights) start(ctx context.Context, of digest) (land func(), err error) {
	for {
		f.mu.Lock()
		other, busy := f.under[of]
		if !busy {
			mine := make(chan struct{})
			f.under[of] = mine
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.under, of)
				f.mu.Unlock()
				close(mine)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
