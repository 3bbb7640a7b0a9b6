package strategy

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls do with 0 to n-1, from as many goroutines as there are
// processors, and returns when all calls have.
func parallel(n int, do func(k int)) {
	var next atomic.Int64
	work := func() {
		for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
			do(k)
		}
	}
	var group sync.WaitGroup
	for range min(runtime.NumCPU(), n) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
}
