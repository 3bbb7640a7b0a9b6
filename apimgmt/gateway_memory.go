package apimgmt

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// MemoryGateway is a Gateway that keeps the configuration and serves nothing: for
// tests, and for a catalogue without a gateway. It is created with NewMemoryGateway
// and is safe for concurrent use.
type MemoryGateway struct {
	kinds []string

	mu     sync.Mutex
	served entity.Normal
}

// NewMemoryGateway returns a gateway that has plugins of the kinds given; nil
// means any.
func NewMemoryGateway(kinds []string) *MemoryGateway {
	return &MemoryGateway{kinds: slices.Clone(kinds)}
}

// Publish implements [Gateway].
func (g *MemoryGateway) Publish(ctx context.Context, owner string, config entity.Config) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, next, err := g.plan(ctx, owner, config)
	if err != nil {
		return fmt.Errorf("publish %q: %w", owner, err)
	}
	g.served = next
	return nil
}

// Plan implements [Gateway].
func (g *MemoryGateway) Plan(ctx context.Context, owner string, config entity.Config) (entity.Plan, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	plan, _, err := g.plan(ctx, owner, config)
	if err != nil {
		return plan, fmt.Errorf("publish %q: %w", owner, err)
	}
	return plan, nil
}

// plan computes what Publish does. The caller holds the lock.
func (g *MemoryGateway) plan(ctx context.Context, owner string, config entity.Config) (entity.Plan, entity.Normal, error) {
	if err := ctx.Err(); err != nil {
		return entity.Plan{}, entity.Normal{}, err
	}
	for _, plugin := range config.Plugins {
		if g.kinds != nil && !slices.Contains(g.kinds, plugin.Name) {
			return entity.Plan{}, entity.Normal{}, fmt.Errorf("plugin %q: %w: there is no plugin of that name", plugin.Name, entity.ErrInvalid)
		}
	}
	return g.served.Plan(owner, config)
}

// Config implements [Gateway].
func (g *MemoryGateway) Config(ctx context.Context) (entity.Config, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return entity.Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	return g.served.Config(), nil
}

// Kinds implements [Gateway].
func (g *MemoryGateway) Kinds(ctx context.Context) ([]string, error) {
	return slices.Clone(g.kinds), ctx.Err()
}
