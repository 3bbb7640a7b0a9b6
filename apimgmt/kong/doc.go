// Package kong publishes to a real Kong, through its Admin API: the step that the
// embedded gateway does by itself. It speaks to Kong 2.8 and 3, with a database
// and without one.
//
// # What an owner has
//
// All entities of one published API carry a tag of their owner. A publish reads
// everything that Kong has, works out with [entity.Diff] what has to change, and
// changes only that: publishing the same again writes nothing.
//
// What others have attached to entities that go, a plugin on a service for instance, is
// carried over to what takes the place of these, with all members that Kong has of it, or
// refuses the publish; see [entity.Config.Replace].
//
// # How whole a publish is
//
// Without a database, Kong takes a whole configuration at once (POST /config), and
// a publish is atomic on that node. What the export of Kong has besides, such as
// certificates, stays.
//
// With a database, Kong changes one entity at a time. A publish therefore
//
//   - has Kong check the entities that it will change, before anything changes;
//   - prepares what is new where no request finds it: new services disabled, new
//     routes of services that are there already on a disabled one, each with its
//     plugins;
//   - then shows it: plugins of what is served, services, routes one by one; a new
//     service with all of its routes by one call;
//   - and deletes at the end what is gone, routes before the plugins that protect
//     them.
//
// If a call fails for good, everything is put back as it was, so that either all
// routes of the definition serve or those before do. No route is ever served
// without the plugins that it has in the old or in the new definition. What is not
// atomic: while a service that is there already changes, some of its routes are
// old and some new; and if the publisher dies then, that lasts until the next
// publish, which puts it right. Nodes of a cluster take changes over one by one,
// after what Kong calls db_update_frequency.
//
// # Several publishers
//
// Publishers of one process take turns. Those of several exclude each other, owner
// by owner, by a service whose name Kong has only once; it is disabled, is where
// new routes are prepared, and is removed at the end. One that a dead publisher
// left counts until a publisher has met it for [Config.Lease]; publishes of the owner fail with [ErrBusy]
// until then. Different owners cannot take each
// other's names or ids, which Kong sees to. Without a database there is no such
// thing: a node takes the last configuration, so each needs one
// publisher.
package kong
