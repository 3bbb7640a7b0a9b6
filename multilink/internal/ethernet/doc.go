// Package ethernet reads Ethernet frames: [Classifier] finds the class of a frame,
// [Switch] the port of its destination, and [ClampMSS] lowers what a TCP
// handshake offers. Nothing of it allocates for a frame.
package ethernet
