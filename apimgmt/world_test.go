package apimgmt_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// embedded is the gateway of this project behind the contract.
type embedded struct{ *gateway.Gateway }

func (e embedded) Publish(ctx context.Context, owner string, config entity.Config) error {
	return e.Update(func(served entity.Config) (entity.Config, error) {
		_, next, err := e.plan(ctx, served, owner, config)
		return next, err
	})
}

func (e embedded) Plan(ctx context.Context, owner string, config entity.Config) (entity.Plan, error) {
	served, _ := e.Gateway.Config()
	plan, _, err := e.plan(ctx, served, owner, config)
	return plan, err
}

func (e embedded) plan(ctx context.Context, served entity.Config, owner string, config entity.Config) (entity.Plan, entity.Config, error) {
	if err := ctx.Err(); err != nil {
		return entity.Plan{}, entity.Config{}, err
	}
	before, err := entity.NewNormal(served)
	if err != nil {
		return entity.Plan{}, entity.Config{}, err
	}
	plan, next, err := before.Plan(owner, config)
	if err == nil {
		if fault := e.Check(next.Shared()); fault != nil {
			err = fmt.Errorf("%w: %w", entity.ErrInvalid, fault)
		}
	}
	return plan, next.Config(), err
}

func (e embedded) Config(ctx context.Context) (entity.Config, error) {
	config, _ := e.Gateway.Config()
	return config, ctx.Err()
}

func (e embedded) Kinds(context.Context) ([]string, error) { return e.Gateway.Kinds(), nil }

func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// handmade is a route that was put into the gateway without a definition.
func handmade(name, path string) entity.Config {
	return entity.Config{Services: []entity.Service{{Name: "by-hand", Protocol: "http", Host: "things.example"}},
		Routes: []entity.Route{{Name: name, Paths: []string{path}, Service: &entity.Ref{Name: "by-hand"}}}}
}
