package wg

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

// netDevice is the interface that sockets are bound to. Its questions go through
// those sockets, and so to the network namespace where they were created.
type netDevice struct {
	name    string
	port    uint16
	sockets []*linuxSocket
	news    *os.File // a netlink socket that reports every interface
	changed chan struct{}
	ended   sync.WaitGroup
}

var _ carrier = (*netDevice)(nil)

// watchInterface begins to listen for changes of interfaces.
func watchInterface(name string, port uint16, all []*linuxSocket) (*netDevice, error) {
	fail := func(err error) (*netDevice, error) {
		return nil, fmt.Errorf("watch interface %q: %w", name, err)
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return fail(err)
	}
	to := &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK}
	if err := unix.Bind(fd, to); err != nil {
		return fail(errors.Join(err, unix.Close(fd)))
	}
	d := &netDevice{
		name: name, port: port, sockets: all,
		news: os.NewFile(uintptr(fd), "netlink"), changed: make(chan struct{}, 1),
	}
	d.ended.Go(d.listen)
	return d, nil
}

// listen passes on that something changed. What changed is read afterwards, so
// that news that was lost, for which the kernel has an error, is as good.
func (d *netDevice) listen() {
	news := make([]byte, 1<<16)
	for failures := 0; ; failures++ {
		_, err := d.news.Read(news)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err == nil {
			failures = 0
		}
		signal(d.changed)
		settle(failures)
	}
}

func (d *netDevice) changes() <-chan struct{} { return d.changed }

func (d *netDevice) close() error {
	err := d.news.Close()
	d.ended.Wait()
	return err
}

func (d *netDevice) state() linkState {
	var now linkState
	for _, s := range d.sockets {
		if s.control(func(fd uintptr) { now = interfaceState(int(fd), d.name) }) == nil {
			break
		}
	}
	return now
}

// interfaceState reads the state of an interface from the kernel, by its name.
func interfaceState(fd int, name string) linkState {
	ask := func(request uint) (*unix.Ifreq, error) {
		question, err := unix.NewIfreq(name)
		if err != nil {
			return nil, err
		}
		return question, unix.IoctlIfreq(fd, request, question)
	}
	index, err := ask(unix.SIOCGIFINDEX)
	if err != nil {
		return linkState{}
	}
	mtu, err := ask(unix.SIOCGIFMTU)
	if err != nil {
		return linkState{}
	}
	flags, err := ask(unix.SIOCGIFFLAGS)
	if err != nil {
		return linkState{}
	}
	const carries = unix.IFF_UP | unix.IFF_RUNNING
	return linkState{
		index: int(index.Uint32()),
		mtu:   int(mtu.Uint32()),
		up:    flags.Uint16()&carries == carries,
	}
}

// rebind binds the sockets as they are, which keeps their namespace but needs
// CAP_NET_RAW, and creates others without that right.
func (d *netDevice) rebind() error {
	for _, s := range d.sockets {
		var err error
		failure := s.control(func(fd uintptr) { err = bindToDevice(int(fd), d.name) })
		switch {
		case errors.Is(failure, net.ErrClosed):
			return nil
		case errors.Is(err, multilink.ErrDenied):
			err = s.reopen(d.port)
		}
		if err = errors.Join(failure, err); err != nil {
			return err
		}
	}
	return nil
}
