package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// sources is how many client addresses the attackers have, 127.0.1.1 and the next.
const sources = 200

// again is how long an attacker waits before it connects again.
const again = time.Second

// siege is an attack that is going on.
type siege struct {
	cancel context.CancelFunc
	group  sync.WaitGroup
	counts attack // added to atomically
}

// besiege begins an attack and returns once each attacker has connected for the first
// time, or failed to.
func (c contender) besiege(ctx context.Context, s size, address string) *siege {
	ctx, cancel := context.WithCancel(ctx)
	g := &siege{cancel: cancel}
	var begun sync.WaitGroup
	slow := "POST " + c.post + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n" +
		"Authorization: Bearer " + token + "\r\n\r\n"
	attackers := make(chan struct{}, 64) // that connect for the first time
	for i := range s.Silent + s.Slow {
		say := ""
		if i >= s.Silent {
			say = slow
		}
		begun.Add(1)
		attackers <- struct{}{}
		g.group.Go(func() {
			first := sync.OnceFunc(func() { begun.Done(); <-attackers })
			defer first()
			g.hold(ctx, i, address, say, first)
		})
	}
	begun.Wait()
	g.group.Go(func() { g.guess(ctx, address+c.path, s.SignIn) })
	return g
}

// lift ends the attack and returns what it did.
func (g *siege) lift() attack {
	g.cancel()
	g.group.Wait()
	return g.counts
}

// hold connects again and again. On each connection it says something, and then a byte a second
// or nothing.
func (g *siege) hold(ctx context.Context, i int, address, say string, connected func()) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%sources))}, Timeout: callTime}
	for ctx.Err() == nil {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			atomic.AddInt64(&g.counts.Refused, 1)
		} else {
			atomic.AddInt64(&g.counts.Connections, 1)
			connected()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			g.talk(ctx, conn, say)
			stop()
			_ = conn.Close() // the server did, or the siege ends
			atomic.AddInt64(&g.counts.Closed, 1)
		}
		connected()
		select {
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
}

// talk returns when the server closes the connection.
func (g *siege) talk(ctx context.Context, conn net.Conn, say string) {
	if say != "" {
		if _, err := io.WriteString(conn, say); err != nil {
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		g.group.Go(func() {
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					if _, err := io.WriteString(conn, " "); err != nil {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		})
	}
	_, _ = io.Copy(io.Discard, conn) // ends with the connection
}

// guess sends wrong tokens at a rate.
func (g *siege) guess(ctx context.Context, address string, rate int) {
	if rate == 0 {
		return
	}
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 2, 1)}}
	client := &http.Client{Timeout: callTime, Transport: &http.Transport{
		MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64, DialContext: dialer.DialContext,
	}}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	turns := make(chan struct{}, 256)
	for n := 0; ctx.Err() == nil; n++ {
		select {
		case turns <- struct{}{}:
			g.group.Go(func() {
				defer func() { <-turns }()
				g.signIn(ctx, client, address, n)
			})
		default: // the server answers more slowly than that
		}
		<-tick.C
	}
}

func (g *siege) signIn(ctx context.Context, client *http.Client, address string, n int) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil)
	if err != nil {
		return
	}
	request.Header.Set("Authorization", fmt.Sprint("Bearer wrong-", n))
	answer, err := client.Do(request)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	atomic.AddInt64(&g.counts.SignIns, 1)
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		atomic.AddInt64(&g.counts.SignInsRefused, 1)
	}
}
