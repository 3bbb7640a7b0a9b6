// Package cleanup bounds the time in which an operation removes its traces.
package cleanup

import (
	"context"
	"time"
)

// Context returns a context for removing the traces of an operation. It lasts for five
// seconds, also after the operation's own context has ended. Traces that remain are removed by the repair of
// the repository.
func Context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}
