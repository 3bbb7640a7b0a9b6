// Package cookies names the cookies that more than one package of apimgmt knows.
package cookies

// Admin is the cookie of the gateway's administration page.
const Admin = "gateway-admin"
