// Package applyset decides which objects were applied together and which members may go, in the
// format of the ApplySet specification (KEP-3659). [Read] the parent, [Render] it with a wider
// promise before members are written, and ask [Decide] about the live members. It reads and writes
// nothing.
package applyset
