package ha_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3/s3test"
	"github.com/iotenablers/enablers/test/interop"
	"github.com/iotenablers/enablers/test/interop/load"
)

// platform is what all processes share.
type platform struct {
	t      *testing.T
	store  *mongotest.Server
	bucket *s3test.MinIO
	work   sync.WaitGroup // the load
}

// place is the database and the bucket of a block.
type place struct{ database, bucket string }

func (p *platform) place() place { return place{p.store.Database(p.t), p.bucket.Bucket(p.t)} }

// arguments returns those of the block for its place.
func (p *platform) arguments(at place) []string {
	return []string{"-store", p.store.URI + "/" + at.database,
		"-blobs", "s3://" + p.bucket.Address() + "/" + at.bucket + "?insecure=true&create-bucket=true"}
}

// block is the processes of one kind, with their load.
type block interface {
	// work puts load on the processes until the context ends.
	work(ctx context.Context)
	// strike kills a process with SIGKILL, and starts it again when others do its work.
	strike(random *rand.Rand)
	// check looks at what has become of the work when the load is over, and logs how long it
	// stood still after kills.
	check()
}

// fleet is the processes of one kind, which run one program.
type fleet struct {
	platform  *platform
	program   string
	arguments []string // of all
	own       func(at int) []string
	ready     func(at int, server *interop.Server)
	servers   []*interop.Server
}

// start starts a process, again after a kill, on what the one before it had.
func (f *fleet) start(at int) {
	f.platform.t.Helper()
	f.servers[at] = interop.StartServer(f.platform.t, f.program, append(f.own(at), f.arguments...)...)
	f.ready(at, f.servers[at])
}

// A few kills are enough for each kind to be killed twice.
const few = 6

func TestPlatform_losesNothingWhenProcessesAreKilled(t *testing.T) {
	kills := load.Number(t, load.Kills, few)
	seed := load.Number(t, load.Seed, uint64(time.Now().UnixNano()))
	t.Logf("%s=%d", load.Seed, seed)
	random := rand.New(rand.NewPCG(seed, seed))
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)

	p := &platform{t: t, store: mongotest.Start(t), bucket: s3test.StartMinIO(t)}
	blocks := []block{newAnnotators(p), newCollectors(p), newManagers(p)}
	ctx, over := context.WithCancel(t.Context())
	t.Cleanup(func() {
		over()
		p.work.Wait()
	})
	for _, b := range blocks {
		b.work(ctx)
	}
	var order []int
	for range kills {
		if len(order) == 0 {
			order = random.Perm(len(blocks)) // each kind as often as the others
		}
		<-time.After(time.Duration(random.IntN(1500)) * time.Millisecond) // a kill at any phase of leases and looks
		blocks[order[0]].strike(random)
		order = order[1:]
		require.False(t, t.Failed(), "the load has failed")
	}
	over()
	p.work.Wait()
	for _, b := range blocks {
		b.check()
	}
}

// await polls until something holds, which other processes bring about.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	late := time.After(load.Patience)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-late:
			t.Fatalf("%s: not within %v", what, load.Patience)
		}
	}
}
