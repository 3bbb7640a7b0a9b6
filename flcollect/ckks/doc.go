// Package ckks aggregates model updates that clients encrypted with the CKKS
// scheme (Cheon and others 2017, ePrint 2016/421), without a key: the weighted
// mean of ciphertexts, which only the clients can decrypt.
//
// It reads and writes what TenSEAL's clients send under the parameters' type
// [Type]: a CKKSTensor or CKKSVector message a layer, whose ciphertexts are
// objects of Microsoft SEAL 3.6 to 4.x, stored plainly or compressed with zlib or
// Zstandard. A ciphertext may hold a single number, as those of CKKSTensor do by
// default, or a number a slot.
//
// # The mean
//
// [Strategy] begins an [Aggregation] for each round. It adds every update times
// its number of examples, modulo the ciphertext moduli, and multiplies the scale
// of the ciphertext by the sum of the examples. Clients decrypt the mean. Nothing
// is rounded, no level is consumed and no evaluation key is needed; sums of
// residues do not depend on the order of the updates, to the last bit.
//
// Memory is one sum, of the size of an uncompressed update, and one ciphertext for
// each processor, however many clients there are. An update that turns out to be
// bad halfway is subtracted again, which is exact.
//
// # What is checked
//
// [NewParameters] checks a job's parameters against the bounds of the
// HomomorphicEncryption.org standard for 128 bits of security, and derives the
// moduli as SEAL does. Every ciphertext is compared with them: degree, moduli,
// level, scale, and every coefficient. It must be fresh, which is not multiplied and
// not from an earlier round. Sizes are known before anything is decompressed, and a
// ciphertext that is smaller than any possible encryption is refused, so that a
// small message cannot take much memory.
//
// The weights are limited by the room that the moduli leave above the scale;
// beyond it the error is [ErrNoRoom], instead of a result that wrapped around.
//
// A model of one client that is sent to the others is first checked by
// [Parameters.CheckModel].
//
// # Noise
//
// [Aggregation.Blur] adds Gaussian noise to the encrypted sum, for mechanisms of
// differential privacy (package dp), without a key: a polynomial added to the
// first of the ciphertext's. It is drawn for the slots: one number for a
// ciphertext with a single number, one a slot for packed tensors, and for vectors,
// which TenSEAL repeats until the slots are full, as many as the vector has,
// repeated alike, since noise that differs between the copies could be averaged
// away. It is rounded to units of the scale, as the sum is already, so rounding
// does not weaken it.
//
// Further noise, of a thousandth of the deviation and less, is independent in every
// coefficient. It hides how the clients' encodings were rounded, and the low bits
// of numbers that are longer than a double. The norm of an update that clients
// clipped grows by rounding as well, by less than degree/scale/2 for each
// ciphertext, which the slack of package dp is for.
//
// # Keys
//
// The clients make and keep the keys. [ParseContext] reads a public TenSEAL
// context, for a server that distributes it, and refuses one with a secret key.
package ckks
