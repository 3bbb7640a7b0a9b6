// Package bond is the state machine behind a multilink.Bond: it creates one
// connection to a peer out of several links. It has no goroutines, no clock and
// no sockets. Time is an argument; packets and frames are bytes in and out.
//
// A [Bond] is composed of parts, one noun each, that share a core of state:
//
//	members   the links, by ID
//	peering   the exchange of probes with the peer
//	monitor   the state of each link: down, probing, up, suspect
//	selector  the links that the frames of each class use
//	sender    sequence numbers, the replay buffer, the backlog and its pace
//	receiver  duplicates and reassembly
//
// A call runs through them in that order. Bond.settle is the place where the
// consequences of one part reach the next.
package bond
