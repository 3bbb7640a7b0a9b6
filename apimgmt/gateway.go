package apimgmt

import (
	"context"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// Gateway is what a [Publisher] needs of an API gateway. The package gatewaytest
// is its suite. All methods are safe for concurrent use.
//
// An error that wraps [entity.ErrInvalid] means that the entities break a rule of the
// gateway or of one of its plugins. One that wraps [entity.ErrConflict] means that another
// owner has an entity of the same name. Nothing has changed then. Any other error is the
// gateway's own: what is served is unknown, and the call can be made again. The texts of
// errors have no secrets in them.
type Gateway interface {
	// Publish serves the entities in place of those that owner had, all of
	// them or none. An empty config withdraws. Idempotent. The owner is a tag,
	// such as "enabler:weather", which every one of the entities gets. Entities
	// of others stay as they are; what they have attached to entities that go is
	// carried over, or is an error that wraps [entity.ErrAttached], as
	// [entity.Config.Replace] says.
	Publish(ctx context.Context, owner string, config entity.Config) error
	// Plan returns what Publish would change, entities of others included, or the error
	// that it would return. Nothing changes.
	Plan(ctx context.Context, owner string, config entity.Config) (entity.Plan, error)
	// Config returns everything that is served, entities of all owners included. The
	// caller may change the result.
	Config(ctx context.Context) (entity.Config, error)
	// Kinds names the plugins that may be used; nil means any.
	Kinds(ctx context.Context) ([]string, error)
}
