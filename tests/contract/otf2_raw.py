# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# An OTF2 archive as it is: raw refs and numbers through the low-level module of python3-otf2, nothing resolved, nothing rejected.
# Definitions become plain dictionaries; events are handed to a function one by one, merged over all locations by time.
import ctypes
import os

import _otf2

UNDEFINED_32 = 0xFFFFFFFF
UNDEFINED_64 = 0xFFFFFFFFFFFFFFFF


class Unusable(Exception):
    """The archive cannot be read at all, or not to its end."""


def plain(value):
    """Enumerations and bit sets of the module as integers."""
    return getattr(value, "value", value)


# kind of definition -> names of the callback's arguments
DEFINITIONS = {
    "ClockProperties": "resolution offset length realtime",
    "Paradigm": "ref name cls",
    "IoParadigm": "ref identification name cls flags properties types values",
    "String": "ref text",
    "Attribute": "ref name description type",
    "SystemTreeNode": "ref name class_name parent",
    "SystemTreeNodeDomain": "node domain",
    "LocationGroup": "ref name type node creator",
    "LocationGroupProperty": "group name type value",
    "Location": "ref name type events group",
    "LocationProperty": "location name type value",
    "Region": "ref name canonical description role paradigm flags file begin end",
    "SourceCodeLocation": "ref file line",
    "CallingContext": "ref region location parent",
    "Group": "ref name type paradigm flags members",
    "Comm": "ref name group parent flags",
    "IoRegularFile": "ref name scope",
    "IoDirectory": "ref name scope",
    "IoFileProperty": "file name type value",
    "IoHandle": "ref name file paradigm flags comm parent",
    "IoPreCreatedHandleState": "handle mode flags",
}

# kind of event -> names of its own arguments; all other kinds are delivered without arguments
EVENTS = {
    "Enter": "region",
    "Leave": "region",
    "IoCreateHandle": "handle mode creation_flags status_flags",
    "IoDestroyHandle": "handle",
    "IoDuplicateHandle": "old new status_flags",
    "IoSeek": "handle request whence result",
    "IoChangeStatusFlags": "handle status_flags",
    "IoDeleteFile": "paradigm file",
    "IoOperationBegin": "handle mode flags bytes id",
    "IoOperationTest": "handle id",
    "IoOperationIssued": "handle id",
    "IoOperationComplete": "handle bytes id",
    "IoOperationCancelled": "handle id",
    "IoAcquireLock": "handle lock",
    "IoReleaseLock": "handle lock",
    "IoTryLock": "handle lock",
}

INTEGER_FIELDS = {1: "uint8", 2: "uint16", 3: "uint32", 4: "uint64", 5: "int8", 6: "int16", 7: "int32", 8: "int64"}
TYPE_STRING = 11
REFERENCE_TYPES = range(11, 26)         # values that are refs of 32 bits, but for locations
TYPE_LOCATION = 13


def narrow_strings(fields):
    """A string's ref fills half of the value's union; what stands in the other half is chance."""
    if fields.get("type") == TYPE_STRING and "value" in fields:
        fields["value"] &= UNDEFINED_32
    if "types" in fields:
        fields["values"] = [v & UNDEFINED_32 if t == TYPE_STRING else v for t, v in zip(fields["types"], fields["values"])]


class AttributeReader:
    """The attributes of an event as {ref: (type, value)}; the functions are bound once, they are called for every event."""

    def __init__(self):
        lib = _otf2.Config.conf.lib
        self.count = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)(("OTF2_AttributeList_GetNumberOfElements", lib))

    def read(self, handle):
        if handle is None:
            return {}
        count = self.count(ctypes.cast(handle, ctypes.c_void_p))
        result = {}
        for i in range(count):
            ref, kind, value = _otf2.AttributeList_GetAttributeByIndex(handle, i)
            kind = plain(kind)
            number = getattr(value, INTEGER_FIELDS.get(kind, "uint64"))
            result[ref] = (kind, number & UNDEFINED_32 if kind in REFERENCE_TYPES and kind != TYPE_LOCATION else number)
        return result


class Archive:
    def __init__(self, anchor):
        self.anchor = anchor
        self.order = []         # (kind, fields) of all definitions as they stand in the file
        self.errors = []        # exceptions inside callbacks
        try:
            self.reader = _otf2.Reader_Open(anchor)
        except _otf2.Error as error:
            raise Unusable("%s: cannot open the archive: %s" % (anchor, error))
        if not self.reader:
            raise Unusable("%s: cannot open the archive" % anchor)
        _otf2.Reader_SetSerialCollectiveCallbacks(self.reader)
        self._read_definitions()
        self.properties = {n: _otf2.Reader_GetProperty(self.reader, n) for n in _otf2.Reader_GetPropertyNames(self.reader)}

    def _read_definitions(self):
        callbacks = _otf2.GlobalDefReaderCallbacks_New()
        keep = []
        for kind, names in DEFINITIONS.items():
            function = self._definition_callback(kind, names.split())
            keep.append(function)
            getattr(_otf2, "GlobalDefReaderCallbacks_Set%sCallback" % kind)(callbacks, function)
        try:
            reader = _otf2.Reader_GetGlobalDefReader(self.reader)
            _otf2.Reader_RegisterGlobalDefCallbacks(self.reader, reader, callbacks, None)
            _otf2.GlobalDefReaderCallbacks_Delete(callbacks)
            _otf2.Reader_ReadAllGlobalDefinitions(self.reader, reader)
        except _otf2.Error as error:
            raise Unusable("%s: cannot read the definitions: %s" % (self.anchor, error))

    def _definition_callback(self, kind, names):
        def callback(_, *args):
            fields = {}
            for name, value in zip(names, args):
                if name == "values":
                    value = [v.uint64 for v in value]
                elif name == "value":
                    value = getattr(value, "uint64", plain(value))
                elif isinstance(value, list):
                    value = [plain(v) for v in value]
                fields[name] = plain(value)
            narrow_strings(fields)
            self.order.append((kind, fields))
        return callback

    def of_kind(self, *kinds):
        return [fields for kind, fields in self.order if kind in kinds]

    def missing_files(self):
        directory = os.path.splitext(self.anchor)[0]
        for location in self.of_kind("Location"):
            for suffix in ("def", "evt"):
                path = os.path.join(directory, "%d.%s" % (location["ref"], suffix))
                if not os.path.exists(path):
                    yield path

    def _open_events(self):
        refs = [location["ref"] for location in self.of_kind("Location")]
        for ref in refs:
            _otf2.Reader_SelectLocation(self.reader, ref)
        _otf2.Reader_OpenDefFiles(self.reader)
        _otf2.Reader_OpenEvtFiles(self.reader)
        for ref in refs:
            definitions = _otf2.Reader_GetDefReader(self.reader, ref)
            if definitions:
                _otf2.Reader_ReadAllLocalDefinitions(self.reader, definitions)
                _otf2.Reader_CloseDefReader(self.reader, definitions)
            _otf2.Reader_GetEvtReader(self.reader, ref)
        _otf2.Reader_CloseDefFiles(self.reader)
        return _otf2.Reader_GetGlobalEvtReader(self.reader)

    def read_events(self, function, limit, batch=5000):
        """Calls function(kind, location, time, args, attributes) for every event, up to limit. Returns how many were read."""
        try:
            events = self._open_events()
        except _otf2.Error as error:
            raise Unusable("%s: cannot open the events: %s" % (self.anchor, error))
        callbacks = _otf2.GlobalEvtReaderCallbacks_New()
        attributes = AttributeReader()
        keep = []
        for name in dir(_otf2):
            if name.startswith("GlobalEvtReaderCallbacks_Set") and name.endswith("Callback"):
                kind = name[len("GlobalEvtReaderCallbacks_Set"):-len("Callback")]
                callback = self._event_callback(kind, function, attributes)
                keep.append(callback)
                getattr(_otf2, name)(callbacks, callback)
        _otf2.GlobalEvtReader_SetCallbacks(events, callbacks, None)
        _otf2.GlobalEvtReaderCallbacks_Delete(callbacks)
        total = 0
        while total < limit:
            try:
                count = _otf2.GlobalEvtReader_ReadEvents(events, min(batch, limit - total))
            except _otf2.Error as error:
                raise Unusable("%s: cannot read the events after %d: %s" % (self.anchor, total, error))
            if self.errors:
                raise self.errors[0]
            if not count:
                break
            total += count
        return total

    def _event_callback(self, kind, function, attributes):
        wanted = kind in EVENTS

        def callback(location, time, _, attribute_list, *args):
            try:
                if wanted:
                    args = [getattr(a, "value", a) for a in args]
                function(kind, location, time, args if wanted else (), attributes.read(attribute_list))
            except Exception as error:      # an exception must not pass through the library
                self.errors.append(error)
                return _otf2.CALLBACK_INTERRUPT
            return _otf2.CALLBACK_SUCCESS
        return callback
