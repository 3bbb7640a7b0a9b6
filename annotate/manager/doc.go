// Package manager keeps the channels of a service: it creates, finds, changes
// and removes them, stores them, and brings them back after a restart.
//
// [New] checks a [Config], and [Manager.Run] serves until its context ends.
// Package rest below it is its REST interface, package page its pages.
//
// # Several instances
//
// With Config.Shared several managers share one storage and its channels. Each
// instance keeps a lease, and each channel that runs has a lease that names the
// instance. Every instance shows and changes every channel. The channels of an
// instance that crashes are taken over when its lease has expired.
//
// # Kinds of broker
//
// The manager works with every kind of broker for which the environment has an
// [annotate.Driver]: its settings are a member of each topic, by the name that
// the driver names, in requests, answers and stored documents.
//
// # Credentials
//
// User names and passwords of brokers are masked wherever settings are shown,
// printed or logged. They are stored encrypted with Config.Secret, and in clear without
// one.
package manager
