package main

import (
	"net"

	"github.com/iotenablers/enablers/cmd/internal/collector"
)

// listeners are the open listeners. That of SuperNodes is nil if there is none; taken is the
// reason if the port of the default is taken.
type listeners struct {
	web, models, collector, clients, fleet, portal, gateway, admin, bonding, attached, mqtt net.Listener
	taken                                                                                   error
}

// open opens all of them, or none.
func (s *settings) open() (_ *listeners, err error) {
	l := &listeners{}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	for _, one := range []struct {
		to            *net.Listener
		flag, address string
	}{
		{&l.web, "listen", s.listen}, {&l.models, "modelrepo", s.models},
		{&l.collector, "flcollector", s.collector}, {&l.clients, "flcollector-grpc", s.clients},
		{&l.portal, "apimanager", s.portal}, {&l.gateway, "gateway", s.gateway}, {&l.admin, "gateway-admin", s.admin},
		{&l.bonding, "multilink", s.bonding}, {&l.attached, "multilink-client", s.attached},
	} {
		if *one.to, err = s.connections.Listen(one.flag, one.address); err != nil {
			return nil, err
		}
	}
	if l.fleet, l.taken, err = collector.ListenFleet(s.connections.Listen, "flcollector-fleet", s.fleet, s.fleetGiven); err != nil {
		return nil, err
	}
	l.mqtt, err = s.listenMQTT()
	return l, err
}

// guarded returns the listeners whose callers the door lets in. The gateway's APIs have
// plugins for that, and the MQTT broker knows no callers.
func (l *listeners) guarded(clients, nodes bool) []net.Listener {
	all := []net.Listener{l.web, l.models, l.collector, l.portal, l.admin, l.bonding, l.attached}
	if clients {
		all = append(all, l.clients)
	}
	if nodes && l.fleet != nil {
		all = append(all, l.fleet)
	}
	return all
}

// close closes the listeners. The part that serves a listener has closed it before,
// unless the program failed first.
func (l *listeners) close() {
	for _, one := range []net.Listener{
		l.web, l.models, l.collector, l.clients, l.fleet, l.portal, l.gateway, l.admin, l.bonding, l.attached, l.mqtt,
	} {
		if one != nil {
			_ = one.Close()
		}
	}
}
