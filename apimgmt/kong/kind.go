package kong

import (
	"net/url"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// kinds are those of entities, those that are referred to first.
func kinds() []entity.Kind {
	return []entity.Kind{entity.KindService, entity.KindUpstream, entity.KindTarget, entity.KindConsumer,
		entity.KindRoute, entity.KindPlugin, entity.KindKey}
}

// collection is the name of a kind in declarative configurations, and, except for
// keys and targets, its path in the Admin API.
func collection(kind entity.Kind) string { return string(kind) + "s" }

// listPath is where the entities of a kind are listed; targets have none of their own.
func listPath(kind entity.Kind) string {
	if kind == entity.KindKey {
		return "/key-auths"
	}
	return "/" + collection(kind)
}

// createPath is where an entity is created, and below which it is found by its
// id. parent is the upstream of a target and the consumer of a key.
func createPath(kind entity.Kind, parent string) string {
	switch kind {
	case entity.KindTarget:
		return "/upstreams/" + url.PathEscape(parent) + "/targets"
	case entity.KindKey:
		return "/consumers/" + url.PathEscape(parent) + "/key-auth"
	}
	return listPath(kind)
}
