package main

import "syscall"

// unsafeFileSystems are those on which locks or fsync of several machines do not hold, or that are gone after a restart. Numbers as in
// statfs(2).
var unsafeFileSystems = map[int64]string{
	0x6969: "NFS", 0x517B: "SMB", 0xFF534D42: "CIFS", 0xFE534D42: "SMB", 0x564C: "NCP", 0x5346414F: "AFS", 0x00C36400: "Ceph",
	0x01021997: "9p", 0x65735546: "FUSE", 0x01021994: "tmpfs", 0x858458F6: "ramfs",
}

// fileSystem says what kind of file system a folder is on, and how many bytes are free there.
func fileSystem(dir string) (kind string, unsafe bool, free uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return "", false, 0, err
	}
	kind, unsafe = unsafeFileSystems[int64(uint32(s.Type))]
	return kind, unsafe, s.Bavail * uint64(s.Bsize), nil
}
