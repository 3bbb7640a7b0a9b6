// Package multilink bonds several radio links into one layer-2 network. A vehicle or a gateway has WiFi, a
// mesh and 5G, each of which fails at some places: applications send to one device, and do not notice the
// loss of a link.
//
//	network := memory.NewNetwork(1, "wifi0", "wwan0") // on a machine: package host, with package wg for the tunnels
//	defer network.Close()
//	host, err := network.Host(netip.MustParseAddr("192.0.2.7"))
//	if err != nil {
//		log.Fatal(err)
//	}
//	bond, err := multilink.New(multilink.Config{Host: host})
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer bond.Close()
//	err = bond.Apply(context.Background(), multilink.State{
//		PrivateKey: multilink.Key{8},
//		Port:       multilink.PortConfig{Name: "tap0"}, // what applications send to this device crosses the bond
//		Links:      []settings.Link{{Name: "wifi0", Kind: settings.WiFi, Priority: 1}, {Name: "wwan0", Kind: settings.FiveG, Priority: 2}},
//		Peers: []multilink.PeerConfig{{Name: "server", PublicKey: multilink.Key{9}, Links: []multilink.PeerLink{
//			{Link: "wifi0", Endpoint: netip.MustParseAddrPort("192.0.2.1:51820")},
//			{Link: "wwan0", Endpoint: netip.MustParseAddrPort("192.0.2.1:51821")},
//		}}},
//	})
//	for _, link := range bond.Status().Links {
//		fmt.Println(link.Name, link.State, err) // up as soon as the peer answers
//	}
//
// # What moves where
//
// Frames enter at a [FramePort], usually a TAP device. A [Bond] gives each one a class, finds the peer
// behind which its destination is, and chooses the links that it uses. A [Tunnel] for each link and peer
// carries it, encrypted, to the Bond of the peer, which drops duplicates and passes the frame to its port.
//
//	FramePort -> class -> switch -> links of the peer -> queue -> Tunnel -> radio
//	FramePort <---------- switch <- duplicates, order <---------- Tunnel <- radio
//
// A Bond measures every link by probes in the manner of BFD (RFC 5880). It takes a link out of use when
// the peer is silent on it but not on the others, and keeps what the peer has not acknowledged, in order
// to send it again over the link that takes over. [Bond.Status] and [Bond.Events] report what happens.
//
// # Contracts
//
// [Host] is for ports and links, [Underlay] and [Tunnel] for what crosses a link; package linktest has
// their suite. Package host implements them on Linux, wg with WireGuard, and memory without a right to
// touch a network, for tests. A [Plane] is what an instance of package node runs: a Bond, or the kernel's own
// bonding (package kernel).
package multilink
